# --force replaces a whole recording with the logs of its exec successors; unrelated files with similar names and logs of other runs stay.
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
