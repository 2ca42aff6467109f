. "$CASES/../fixture.sh"
# Prints the picture without its script, which never changes.
show() { sed '/^<script/,/<.script>$/d' "$1"; }
mtrace-query flamegraph run.db -o peak.svg
show peak.svg
grep -c '<script' peak.svg
mtrace-query flamegraph run.db --invert --by blocks --measure leaked --process 1 | show -
# Names from untrusted binaries are escaped.
sqlite3 run.db "UPDATE functions SET name = '</title><script>alert(1)</script>&' || char(7) || x'ff' || char(233) WHERE name = 'worker'"
mtrace-query flamegraph run.db | grep -a alert
# expect stdout
#|<?xml version="1.0" encoding="UTF-8"?>
#|<svg xmlns="http://www.w3.org/2000/svg" version="1.1" width="1200" height="175" viewBox="0 0 1200 175" style="max-width:100%;height:auto">
#|<title>server (pid 812 and 2 more): live at the peak, 10.3 KiB in 46 blocks of 7 stacks</title>
#|<style>text{font:12px monospace;fill:#222}#title{font-size:14px;font-weight:bold}#frames rect{stroke:#fff;stroke-width:0.5}#frames g{cursor:pointer}#frames g:hover rect{stroke:#000}#frames text{pointer-events:none}.button{cursor:pointer;fill:#06c}</style>
#|<rect width="100%" height="100%" fill="#fcfcfc"/>
#|<text id="title" x="10" y="20">server (pid 812 and 2 more): live at the peak, 10.3 KiB in 46 blocks of 7 stacks</text>
#|<text x="10" y="40">width is bytes; functions hang below their callers; colour is the module</text>
#|<text id="reset" class="button" style="display:none" x="10" y="55">reset zoom</text>
#|<text id="search" class="button" x="1080" y="40">search (/)</text>
#|<text id="matched" x="1080" y="55"></text>
#|<g id="frames" data-left="10" data-width="1180">
#|<g data-short="all"><title>all
#|10.3 KiB in 46 blocks, 100 %</title><rect x="10.000" y="60" width="1180.000" height="16" fill="#a9a9a9"/><text x="13.00" y="72.5">all</text></g>
#|<g data-short="_start"><title>_start
#|10.3 KiB in 44 blocks, 99.7 %
#|/usr/lib/libc.so.6</title><rect x="10.000" y="77" width="1176.649" height="16" fill="#d9a47d"/><text x="13.00" y="89.5">_start</text></g>
#|<g data-short="main"><title>main
#|5.1 KiB in 15 blocks, 49 %
#|of its own 84 B in 3
#|/opt/server/bin/server</title><rect x="607.596" y="94" width="579.053" height="16" fill="#9e95e0"/><text x="610.60" y="106.5">main</text></g>
#|<g data-short="Session::clone"><title>Session::clone(int) const
#|500 B in 5 blocks, 4.7 %
#|/opt/server/bin/server</title><rect x="1110.246" y="111" width="55.850" height="16" fill="#877bd9"/><text x="1113.25" y="123.5">Sess..</text></g>
#|<g data-short="operator new"><title>operator new(unsigned long)
#|500 B in 5 blocks, 4.7 %
#|of its own 500 B in 5
#|/usr/lib/libstdc++.so.6</title><rect x="1110.246" y="128" width="55.850" height="16" fill="#a8e39d"/><text x="1113.25" y="140.5">oper..</text></g>
#|<g data-short="main"><title>main
#|100 B in 1 block, 0.9 %
#|/opt/server/bin/server</title><rect x="1166.096" y="111" width="11.170" height="16" fill="#9e95e0"/><text x="1169.10" y="123.5"></text></g>
#|<g data-short="Session::clone"><title>Session::clone(int) const
#|100 B in 1 block, 0.9 %
#|of its own 100 B in 1
#|/opt/server/bin/server</title><rect x="1166.096" y="128" width="11.170" height="16" fill="#877bd9"/><text x="1169.10" y="140.5"></text></g>
#|<g data-short="Cache::reserve"><title>Cache::reserve
#|4.4 KiB in 6 blocks, 43 %
#|of its own 4.4 KiB in 6
#|/opt/server/bin/server</title><rect x="607.596" y="111" width="502.651" height="16" fill="#b1a9e6"/><text x="610.60" y="123.5">Cache::reserve</text></g>
#|<g data-short="worker"><title>worker
#|5.2 KiB in 29 blocks, 51 %
#|of its own 4.9 KiB in 28
#|/opt/server/lib/libwork.so</title><rect x="10.000" y="94" width="597.596" height="16" fill="#e4a4c1"/><text x="13.00" y="106.5">worker</text></g>
#|<g data-short="setlocale"><title>setlocale
#|300 B in 1 block, 2.8 %
#|of its own 300 B in 1
#|/usr/lib/libc.so.6</title><rect x="10.000" y="111" width="33.510" height="16" fill="#e3bb9e"/><text x="13.00" y="123.5">s..</text></g>
#|<g data-short="?"><title>?
#|30 B in 2 blocks, 0.3 %</title><rect x="1186.649" y="77" width="3.351" height="16" fill="#74bed7"/><text x="1189.65" y="89.5"></text></g>
#|<g data-short="libwork.so"><title>/opt/server/lib/libwork.so
#|30 B in 2 blocks, 0.3 %
#|of its own 30 B in 2</title><rect x="1186.649" y="94" width="3.351" height="16" fill="#e7adc8"/><text x="1189.65" y="106.5"></text></g>
#|</g>
#|<text id="details" x="10" y="165"></text>
#|</svg>
#|1
#|<?xml version="1.0" encoding="UTF-8"?>
#|<svg xmlns="http://www.w3.org/2000/svg" version="1.1" width="1200" height="175" viewBox="0 0 1200 175" style="max-width:100%;height:auto">
#|<title>server (pid 812): leaked, 4.6 KiB in 13 blocks of 5 stacks; 300 B suppressed and omitted</title>
#|<style>text{font:12px monospace;fill:#222}#title{font-size:14px;font-weight:bold}#frames rect{stroke:#fff;stroke-width:0.5}#frames g{cursor:pointer}#frames g:hover rect{stroke:#000}#frames text{pointer-events:none}.button{cursor:pointer;fill:#06c}</style>
#|<rect width="100%" height="100%" fill="#fcfcfc"/>
#|<text id="title" x="10" y="20">server (pid 812): leaked, 4.6 KiB in 13 blocks of 5 stacks; 300 B suppressed and omitted</text>
#|<text x="10" y="40">width is blocks; callers hang below the functions they call; colour is the module</text>
#|<text id="reset" class="button" style="display:none" x="10" y="55">reset zoom</text>
#|<text id="search" class="button" x="1080" y="40">search (/)</text>
#|<text id="matched" x="1080" y="55"></text>
#|<g id="frames" data-left="10" data-width="1180">
#|<g data-short="all"><title>all
#|4.6 KiB in 13 blocks, 100 %</title><rect x="10.000" y="60" width="1180.000" height="16" fill="#a9a9a9"/><text x="13.00" y="72.5">all</text></g>
#|<g data-short="main"><title>main
#|20 B in 2 blocks, 15 %
#|/opt/server/bin/server</title><rect x="826.923" y="77" width="181.538" height="16" fill="#e0b495"/><text x="829.92" y="89.5">main</text></g>
#|<g data-short="_start"><title>_start
#|20 B in 2 blocks, 15 %
#|of its own 20 B in 2
#|/usr/lib/libc.so.6</title><rect x="826.923" y="94" width="181.538" height="16" fill="#897dd9"/><text x="829.92" y="106.5">_start</text></g>
#|<g data-short="operator new"><title>operator new(unsigned long)
#|600 B in 6 blocks, 46 %
#|/usr/lib/libstdc++.so.6</title><rect x="10.000" y="77" width="544.615" height="16" fill="#a8e39d"/><text x="13.00" y="89.5">operator new</text></g>
#|<g data-short="Session::clone"><title>Session::clone(int) const
#|600 B in 6 blocks, 46 %
#|/opt/server/bin/server</title><rect x="10.000" y="94" width="544.615" height="16" fill="#d9a37b"/><text x="13.00" y="106.5">Session::clone</text></g>
#|<g data-short="main"><title>main
#|600 B in 6 blocks, 46 %
#|/opt/server/bin/server</title><rect x="10.000" y="111" width="544.615" height="16" fill="#e0b495"/><text x="13.00" y="123.5">main</text></g>
#|<g data-short="_start"><title>_start
#|600 B in 6 blocks, 46 %
#|of its own 600 B in 6
#|/usr/lib/libc.so.6</title><rect x="10.000" y="128" width="544.615" height="16" fill="#897dd9"/><text x="13.00" y="140.5">_start</text></g>
#|<g data-short="Session::clone"><title>Session::clone(int) const
#|100 B in 1 block, 7.7 %
#|/opt/server/bin/server</title><rect x="1099.231" y="77" width="90.769" height="16" fill="#d9a37b"/><text x="1102.23" y="89.5">Session::..</text></g>
#|<g data-short="main"><title>main
#|100 B in 1 block, 7.7 %
#|/opt/server/bin/server</title><rect x="1099.231" y="94" width="90.769" height="16" fill="#e0b495"/><text x="1102.23" y="106.5">main</text></g>
#|<g data-short="main"><title>main
#|100 B in 1 block, 7.7 %
#|/opt/server/bin/server</title><rect x="1099.231" y="111" width="90.769" height="16" fill="#e0b495"/><text x="1102.23" y="123.5">main</text></g>
#|<g data-short="_start"><title>_start
#|100 B in 1 block, 7.7 %
#|of its own 100 B in 1
#|/usr/lib/libc.so.6</title><rect x="1099.231" y="128" width="90.769" height="16" fill="#897dd9"/><text x="1102.23" y="140.5">_start</text></g>
#|<g data-short="Cache::reserve"><title>Cache::reserve
#|3.9 KiB in 1 block, 7.7 %
#|/opt/server/bin/server</title><rect x="1008.462" y="77" width="90.769" height="16" fill="#e6c3a9"/><text x="1011.46" y="89.5">Cache::re..</text></g>
#|<g data-short="main"><title>main
#|3.9 KiB in 1 block, 7.7 %
#|/opt/server/bin/server</title><rect x="1008.462" y="94" width="90.769" height="16" fill="#e0b495"/><text x="1011.46" y="106.5">main</text></g>
#|<g data-short="_start"><title>_start
#|3.9 KiB in 1 block, 7.7 %
#|of its own 3.9 KiB in 1
#|/usr/lib/libc.so.6</title><rect x="1008.462" y="111" width="90.769" height="16" fill="#897dd9"/><text x="1011.46" y="123.5">_start</text></g>
#|<g data-short="libwork.so"><title>/opt/server/lib/libwork.so
#|30 B in 3 blocks, 23 %</title><rect x="554.615" y="77" width="272.308" height="16" fill="#e7adc8"/><text x="557.62" y="89.5">libwork.so</text></g>
#|<g data-short="?"><title>?
#|30 B in 3 blocks, 23 %
#|of its own 30 B in 3</title><rect x="554.615" y="94" width="272.308" height="16" fill="#74bed7"/><text x="557.62" y="106.5">?</text></g>
#|</g>
#|<text id="details" x="10" y="165"></text>
#|</svg>
#|<g data-short="&lt;/title&gt;&lt;script&gt;alert&lt;/script&gt;&amp;??é"><title>&lt;/title&gt;&lt;script&gt;alert(1)&lt;/script&gt;&amp;??é
#|/opt/server/lib/libwork.so</title><rect x="10.000" y="94" width="597.596" height="16" fill="#d878a4"/><text x="13.00" y="106.5">&lt;/title&gt;&lt;script&gt;alert&lt;/script&gt;&amp;??é</text></g>
