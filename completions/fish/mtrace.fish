# SPDX-License-Identifier: MIT
# fish completion of mtrace; options and commands come from the programs' own help, so they are always the current ones.
function __mtrace_options
    set -l program (commandline -opc)[1]
    switch (string replace -r '.*/' '' -- $program)
        case mtrace-query
            begin
                $program help options
                $program help filters
            end 2>/dev/null
        case '*'
            $program --help 2>/dev/null
    end | grep -oE -e '--[a-z][a-z-]*' | sort -u
end

function __mtrace_commands
    set -l words (commandline -opc)
    test (count $words) -eq 1
    and $words[1] help commands 2>/dev/null | sed -n 's/^  \([a-z][a-z-]*\).*/\1/p'
end

for program in mtrace-query mtrace-record mtrace-run mtrace-import mtrace-serve mtrace-gather
    complete -c $program -n 'string match -q -- "-*" (commandline -ct)' -f -a '(__mtrace_options)'
end
complete -c mtrace-query -n 'not string match -q -- "-*" (commandline -ct)' -a '(__mtrace_commands)'
complete -c mtrace-query -l format -x -a 'table json csv'
complete -c mtrace-query -l measure -x -a 'peak leaked allocated freed temporary live'
complete -c mtrace-query -l by -x -a 'bytes blocks'
complete -c mtrace-query -l to -x -a 'flamegraph.pl heaptrack pprof speedscope dhat massif json'
complete -c mtrace-record -l unwinder -x -a 'fast libunwind frame-pointer none check'
