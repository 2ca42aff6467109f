# A 32-bit program without a 32-bit collector runs, and the last line says where its collector would be installed.
. "$CASES/../lib.sh"
# ELF32, i386, one segment of 96 bytes: mov $1, %eax; mov $42, %ebx; int $0x80
printf '\177ELF\001\001\001\0\0\0\0\0\0\0\0\0\002\0\003\0\001\0\0\0\124\200\004\010\064\0\0\0\0\0\0\0\0\0\0\0\064\0\040\0\001\0\0\0\0\0\0\0' >program
printf '\001\0\0\0\0\0\0\0\0\200\004\010\0\200\004\010\140\0\0\0\140\0\0\0\005\0\0\0\0\020\0\0' >>program
printf '\270\001\0\0\0\273\052\0\0\0\315\200' >>program
chmod +x program
status=0
./program 2>refused.txt || status=$?
[ $status = 42 ] || { echo "skipped: this kernel runs no 32-bit program"; exit 77; }
complain mtrace-record -o run.dat -- ./program
# expect stdout
#|status 42, lines on stderr 2
# expect stderr
#|mtrace-record: warning: nothing will be recorded of './program': it is a program for i386, whose collector is not installed (package mtrace-collector-i386: lib/i386-linux-gnu/mtrace/libmtrace.so)
#|mtrace-record: nothing was recorded of './program': it is a program for i386, whose collector is not installed (package mtrace-collector-i386: lib/i386-linux-gnu/mtrace/libmtrace.so)
