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
