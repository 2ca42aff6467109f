# Tables of another version mean something else; what a user adds is let be, and views of the file are never run.
. "$CASES/../fixture.sh"
sqlite3 run.db "CREATE TABLE mine(a); CREATE VIEW my_leaks AS SELECT * FROM leaks; CREATE INDEX by_line ON call_sites(line);
                DROP VIEW leaks; CREATE VIEW leaks AS SELECT zeroblob(1000000000) AS leaked_bytes"
mtrace-query leaks run.db --process 1 | sed -n 1,4p | tail -2
mtrace-query sql run.db 'SELECT * FROM my_leaks' || echo refused
for change in 'DROP TABLE call_sites; CREATE TABLE call_sites(call_site_id INTEGER PRIMARY KEY) STRICT' 'DROP TABLE site_totals' \
    'DROP TABLE functions; CREATE VIEW functions AS SELECT 1 AS function_id' \
    'DROP TABLE sources; CREATE TABLE sources(source_id INTEGER PRIMARY KEY, path TEXT NOT NULL DEFAULT (zeroblob(9))) STRICT'; do
    cp run.db other.db
    sqlite3 other.db "$change"
    mtrace-query leaks other.db && echo taken
    mtrace-import --resymbolize other.db && echo taken
done
sqlite3 run.db 'CREATE TRIGGER t AFTER DELETE ON frame_lines BEGIN INSERT INTO mine VALUES (1); END'
mtrace-import --resymbolize run.db && echo taken
sqlite3 run.db 'DROP INDEX by_line'
mtrace-import --resymbolize run.db && sqlite3 run.db 'SELECT count(*) FROM mine'
# expect stdout
#|  bytes  blocks  never freed  pattern               site  where
#|  700 B       7         58 %  steady 525 B/min         2  Session::clone  session.c:88  2 stacks
#|refused
#|0
# expect stderr
#|mtrace-query: cannot run the statement: access to view "leaks" prohibited
#|Try 'mtrace-query --help'.
#|mtrace-query: 'other.db' was made by another version of mtrace, or changed: its table call_sites differs; import the recording again
#|mtrace-import: 'other.db' was made by another version of mtrace, or changed: its table call_sites differs; import the recording again
#|mtrace-query: 'other.db' was made by another version of mtrace, or changed: its table site_totals is missing; import the recording again
#|mtrace-import: 'other.db' was made by another version of mtrace, or changed: its table site_totals is missing; import the recording again
#|mtrace-query: 'other.db' was made by another version of mtrace, or changed: its table functions is missing; import the recording again
#|mtrace-import: 'other.db' was made by another version of mtrace, or changed: its table functions is missing; import the recording again
#|mtrace-query: 'other.db' was made by another version of mtrace, or changed: its table sources differs; import the recording again
#|mtrace-import: 'other.db' was made by another version of mtrace, or changed: its table sources differs; import the recording again
#|mtrace-import: 'run.db' has an index that mtrace did not make; drop it, or import the recording again
