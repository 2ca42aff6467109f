# The picture of an object tree shows the latest walk, with boxes as wide as their bytes and escaped names.
. "$CASES/../fixture.sh"
make_fixture tree.db "$source/tests/sql/code.sql" "$source/tests/sql/totals.sql" "$source/tests/sql/objects.sql"
mtrace-query objects tree.db
mtrace-query objects tree.db --process 1 -o objects.svg
sed '/^<script/,/<.script>$/d' objects.svg
sqlite3 tree.db "UPDATE object_nodes SET name = '</title><script>alert(1)</script>&', path = 'root;</title><script>alert(1)</script>&' WHERE path = 'root;v'"
mtrace-query objects tree.db --process 1 -o hostile.svg
grep -a -o '.*alert.*' hostile.svg
# expect stdout
#|process  total   own  objects  kind             path
#|      1  130 B  10 B        1  block            root
#|      1  120 B   8 B        1  pointer          root;v
#|      1  112 B  40 B        4  block            root;v;item
#|      1   12 B  12 B        4  slack            root;v;item;slack
#|      1   60 B  60 B        0  unused_capacity  root;v;item;unused_capacity
#|<?xml version="1.0" encoding="UTF-8"?>
#|<svg xmlns="http://www.w3.org/2000/svg" version="1.1" width="1200" height="175" viewBox="0 0 1200 175" style="max-width:100%;height:auto">
#|<title>objects of walk 2 &quot;late&quot;, which own 130 B of 200 B that were live</title>
#|<style>text{font:12px monospace;fill:#222}#title{font-size:14px;font-weight:bold}#frames rect{stroke:#fff;stroke-width:0.5}#frames g{cursor:pointer}#frames g:hover rect{stroke:#000}#frames text{pointer-events:none}.button{cursor:pointer;fill:#06c}</style>
#|<rect width="100%" height="100%" fill="#fcfcfc"/>
#|<text id="title" x="10" y="20">objects of walk 2 &quot;late&quot;, which own 130 B of 200 B that were live</text>
#|<text x="10" y="40">width is bytes; members and what they own hang below their objects; colour is the kind</text>
#|<text id="reset" class="button" style="display:none" x="10" y="55">reset zoom</text>
#|<text id="search" class="button" x="1080" y="40">search (/)</text>
#|<text id="matched" x="1080" y="55"></text>
#|<g id="frames" data-left="10" data-width="1180">
#|<g data-short="all objects"><title>all objects
#|130 B in 10 blocks, 100 %</title><rect x="10.000" y="60" width="1180.000" height="16" fill="#a4a4a4"/><text x="13.00" y="72.5">all objects</text></g>
#|<g data-short="root"><title>root
#|130 B in 10 blocks, 100 %
#|of its own 10 B in 1
#|block</title><rect x="10.000" y="77" width="1180.000" height="16" fill="#e8c7af"/><text x="13.00" y="89.5">root</text></g>
#|<g data-short="v"><title>v
#|120 B in 9 blocks, 92 %
#|of its own 8 B in 1
#|pointer</title><rect x="10.000" y="94" width="1089.231" height="16" fill="#8074d7"/><text x="13.00" y="106.5">v</text></g>
#|<g data-short="item"><title>item
#|112 B in 8 blocks, 86 %
#|of its own 40 B in 4
#|block</title><rect x="10.000" y="111" width="1016.615" height="16" fill="#daa57f"/><text x="13.00" y="123.5">item</text></g>
#|<g data-short="unused_capacity"><title>unused_capacity
#|60 B in 0 blocks, 46 %
#|unused_capacity</title><rect x="10.000" y="128" width="544.615" height="16" fill="#abe3a0"/><text x="13.00" y="140.5">unused_capacity</text></g>
#|<g data-short="slack"><title>slack
#|12 B in 4 blocks, 9.2 %
#|of its own 12 B in 4
#|slack</title><rect x="554.615" y="128" width="108.923" height="16" fill="#e197b9"/><text x="557.62" y="140.5">slack</text></g>
#|</g>
#|<text id="details" x="10" y="165"></text>
#|</svg>
#|<g data-short="&lt;/title&gt;&lt;script&gt;alert&lt;/script&gt;&amp;"><title>&lt;/title&gt;&lt;script&gt;alert(1)&lt;/script&gt;&amp;
#|pointer</title><rect x="10.000" y="94" width="1089.231" height="16" fill="#a096e1"/><text x="13.00" y="106.5">&lt;/title&gt;&lt;script&gt;alert&lt;/script&gt;&amp;</text></g>
