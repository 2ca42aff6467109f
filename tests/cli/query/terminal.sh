# On a terminal output goes through a pager, with colours unless NO_COLOR or TERM=dumb is set; the exit status is that of the command.
. "$CASES/../fixture.sh"
cat >on_terminal.py <<'EOP'
import os, pty, sys
settings = dict(word.split("=", 1) for word in sys.argv[1].split(","))
pid, fd = pty.fork()
if pid == 0:
    os.environ.pop("NO_COLOR", None)
    os.environ.update(settings)
    os.execvp("mtrace-query", ["mtrace-query", *sys.argv[2:]])
printed = b""
while True:
    try:
        printed += os.read(fd, 65536)
    except OSError:
        break
print(printed.decode().replace("\r\n", "\n").replace("\033", "ESC"), end="")
print("status", os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))
EOP
for settings in 'TERM=xterm,PAGER=sed s/^/paged:/' TERM=xterm,PAGER=cat 'TERM=xterm,PAGER=sed s/^/paged:/,NO_COLOR=1' TERM=dumb,PAGER=; do
    python3 on_terminal.py "$settings" peak run.db --process 1 -n 1
done
python3 on_terminal.py 'TERM=xterm,PAGER=sed s/^/paged:/' sql run.db 'SELECT nothing'
PAGER='sed s/^/paged:/' mtrace-query peak run.db --process 1 -n 1
# expect stdout
#|paged:ESC[2mprocess  peak at    bytes  blocks  share  where               siteESC[0m
#|paged:      1    1m00s  5.2 KiB      29   54 %  workerESC[36m  libwork.soESC[0m     5
#|paged:more rows: -n 0
#|paged:next: mtrace-query groups run.db --site 5
#|status 0
#|ESC[2mprocess  peak at    bytes  blocks  share  where               siteESC[0m
#|      1    1m00s  5.2 KiB      29   54 %  workerESC[36m  libwork.soESC[0m     5
#|more rows: -n 0
#|next: mtrace-query groups run.db --site 5
#|status 0
#|paged:process  peak at    bytes  blocks  share  where               site
#|paged:      1    1m00s  5.2 KiB      29   54 %  worker  libwork.so     5
#|paged:more rows: -n 0
#|paged:next: mtrace-query groups run.db --site 5
#|status 0
#|process  peak at    bytes  blocks  share  where               site
#|      1    1m00s  5.2 KiB      29   54 %  worker  libwork.so     5
#|more rows: -n 0
#|next: mtrace-query groups run.db --site 5
#|status 0
#|paged:mtrace-query: cannot run the statement: near "nothing": syntax error
#|paged:Try 'mtrace-query --help'.
#|status 2
#|process  peak at    bytes  blocks  share  where               site
#|      1    1m00s  5.2 KiB      29   54 %  worker  libwork.so     5
#|more rows: -n 0
#|next: mtrace-query groups run.db --site 5
