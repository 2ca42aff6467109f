# SPDX-License-Identifier: MIT
# shellcheck shell=bash
. "$CASES/../lib.sh"
# case no_arguments
complain mtrace-record
# expect stdout
#|status 2, lines on stderr 2
# expect stderr
#|mtrace-record: no program given
#|Try 'mtrace-record --help' or 'mtrace-record --usage' for more information.
# case unknown_option
complain mtrace-record --no-such-option -- true
# expect stdout
#|status 2, lines on stderr 2
# expect stderr
#|mtrace-record: unrecognized option '--no-such-option'
#|Try 'mtrace-record --help' or 'mtrace-record --usage' for more information.
# case senseless_size
complain mtrace-record --max-live 10X -o run.dat -- /bin/true
complain mtrace-record --max-live 1.5MiB -q -o run.dat -- /bin/true
# expect stdout
#|status 2, lines on stderr 2
#|status 0, lines on stderr 0
# expect stderr
#|mtrace-record: --max-live: '10X' is not a size; write bytes, or a number with KiB, MiB, GiB or TiB
#|Try 'mtrace-record --help' or 'mtrace-record --usage' for more information.
# case no_name
complain mtrace-record -o run.dat -- ''
# expect stdout
#|status 127, lines on stderr 1
# expect stderr
#|mtrace-record: '' does not exist
# case target_in_no_folder
complain mtrace-record -o nowhere/run.dat -- true
# expect stdout
#|status 125, lines on stderr 1
# expect stderr
#|mtrace-record: cannot make 'SCRATCH/nowhere/run.dat': No such file or directory
# case target_exists
echo precious >run.dat
complain mtrace-record -o run.dat -- true
cat run.dat
# expect stdout
#|status 125, lines on stderr 1
#|precious
# expect stderr
#|mtrace-record: 'SCRATCH/run.dat' exists and is not a log of mtrace; choose another name or remove it
# case directory_as_program
complain mtrace-record -o run.dat -- /tmp
ls
# expect stdout
#|status 126, lines on stderr 1
# expect stderr
#|mtrace-record: cannot run '/tmp': it is a directory
# case no_such_program
complain mtrace-record -o run.dat -- ./none
ls
# expect stdout
#|status 127, lines on stderr 1
# expect stderr
#|mtrace-record: './none' does not exist
# case not_executable
echo text >program
complain mtrace-record -o run.dat -- ./program
rm -f run.dat program
ls
# expect stdout
#|status 126, lines on stderr 1
# expect stderr
#|mtrace-record: cannot run './program': Permission denied
# case while_recording
# A second recording to a file that a recorder is writing.
mkfifo begin
mtrace-record -q -o run.dat -- sh -c 'echo >begin; read -r line <begin' &
read -r line <begin
complain mtrace-record -o run.dat -- /bin/true
complain mtrace-record --force -o run.dat -- /bin/true
echo >begin
wait
# expect stdout
#|status 125, lines on stderr 1
#|status 125, lines on stderr 1
# expect stderr
#|mtrace-record: 'SCRATCH/run.dat' is being recorded right now; choose another name
#|mtrace-record: 'SCRATCH/run.dat' is being recorded right now; choose another name
# case pack_no_file
# The FIFO has no writer: it is refused without waiting.
mkfifo pipe.dat pool.dat.live
for log in pipe.dat pool.dat.live . /dev/null; do
    complain timeout 20 mtrace-record --pack=$log
done
ls
# expect stdout
#|status 1, lines on stderr 1
#|status 1, lines on stderr 1
#|status 1, lines on stderr 1
#|status 1, lines on stderr 1
#|pipe.dat
#|pool.dat.live
# expect stderr
#|mtrace-record: 'pipe.dat' is not a file
#|mtrace-record: 'pool.dat.live' is not a file
#|mtrace-record: '.' is not a file
#|mtrace-record: '/dev/null' is not a file
