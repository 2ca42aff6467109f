# Misspelt filters and options name the near one; times beyond the run name the run's range, pictures the formats; a PID that is not there is no wrong usage.
. "$CASES/../lib.sh"
. "$CASES/../fixture.sh"
complain mtrace-query leaks run.db functionregex=x
complain mtrace-query leaks run.db --functionregex=x
complain mtrace-query leaks run.db --unheard-of
complain mtrace-query leaks run.db -Z
complain mtrace-query leaks run.db --site
complain mtrace-query leaks run.db --json=1
complain mtrace-query leaks run.db extra
complain mtrace-query callers run.db operator=
complain mtrace-query live run.db --at 999s
complain mtrace-query leaks run.db --at 999s
complain mtrace-query peak run.db -o x.png
complain mtrace-query timeline run.db -o x.PDF
complain mtrace-query flamegraph run.db -o x.html
complain mtrace-query leaks run.db --process 99999
ls
# expect stdout
#|status 2, lines on stderr 2
#|status 2, lines on stderr 2
#|status 2, lines on stderr 2
#|status 2, lines on stderr 2
#|status 2, lines on stderr 2
#|status 2, lines on stderr 2
#|status 2, lines on stderr 2
#|status 1, lines on stderr 1
#|status 2, lines on stderr 2
#|status 2, lines on stderr 2
#|status 2, lines on stderr 2
#|status 2, lines on stderr 2
#|status 2, lines on stderr 2
#|status 1, lines on stderr 1
#|run.db
# expect stderr
#|mtrace-query: unknown filter 'functionregex'; did you mean function_regex?
#|Try 'mtrace-query --help'.
#|mtrace-query: unknown option '--functionregex'; did you mean --function-regex?
#|Try 'mtrace-query --help'.
#|mtrace-query: unknown option '--unheard-of'; mtrace-query help options lists them
#|Try 'mtrace-query --help'.
#|mtrace-query: unknown option '-Z'
#|Try 'mtrace-query --help'.
#|mtrace-query: option '--site' needs a value
#|Try 'mtrace-query --help'.
#|mtrace-query: option '--json=1' takes no value
#|Try 'mtrace-query --help'.
#|mtrace-query: unexpected argument 'extra'
#|Try 'mtrace-query --help'.
#|mtrace-query: no function is called 'operator='; mtrace-query by-function lists them
#|mtrace-query: --at '999s' is after the end of the run; the run is from 0 s to 1m40s
#|Try 'mtrace-query --help'.
#|mtrace-query: --at '999s' is after the end of the run; the run is from 0 s to 1m40s
#|Try 'mtrace-query --help'.
#|mtrace-query: 'x.png': png is not written; name a file.svg for a picture, or a file.html for the command report
#|Try 'mtrace-query --help'.
#|mtrace-query: 'x.PDF': pdf is not written; name a file.svg for a picture, or a file.html for the command report
#|Try 'mtrace-query --help'.
#|mtrace-query: 'x.html' would be no page: only the command report writes HTML; pictures are written as .svg
#|Try 'mtrace-query --help'.
#|mtrace-query: 'run.db' has no process 99999; mtrace-query processes lists them
