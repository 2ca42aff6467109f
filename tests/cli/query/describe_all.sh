# Every column of every public table and view has a meaning.
mtrace-query views --format csv | cut -d, -f1 | tail -n +2 | while read -r name; do
    mtrace-query describe "$name" --format csv | sed -nE "/,(\"\")?\$/s/^/$name: /p"
done
