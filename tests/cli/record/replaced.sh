# --force replaces a recording as a whole: the logs of later images go with the first one; files that only have such a
# name, and logs of other runs, stay.
. "$CASES/../lib.sh"
mtrace-record -q -o run.dat -- env sh -c 'exec true'
mtrace-record -q -o other.dat -- env true
mv other.dat.*.0 run.dat.77.0
echo mine >run.dat.78.0
ls run.dat.* | grep -c '\.[01]$'
first=$(ls run.dat.*.1)
mtrace-record -q --force -o run.dat -- env true
ls run.dat.* | grep -c '\.[01]$'
[ -e "$first" ] && echo "$first is still there"
cat run.dat.78.0
# expect stdout
#|4
#|3
#|mine
