. "$CASES/../fixture.sh"
make_fixture rows.db "$source/tests/sql/code.sql" "$CASES/../fixtures/rows.sql"
show() { grep -v '^<style' "$1"; }
mtrace-query heap-map rows.db --at 45ms -o heaps.svg
show heaps.svg
# The map of another process, and the map from stored heap pages, of which there are none here.
mtrace-query heap-map rows.db --at 190ms | show - | grep -c 'class="f'
mtrace-query heap-map rows.db --at peak || echo "status $?"
mtrace-query heap-map rows.db --at end -o none.svg || test ! -e none.svg
# Names from untrusted binaries are escaped.
sqlite3 rows.db "UPDATE functions SET name = '</title><script>alert(1)</script>&' || char(7) WHERE name = 'worker'"
mtrace-query heap-map rows.db --at 45ms | grep -a alert
# expect stdout
#|<?xml version="1.0" encoding="UTF-8"?>
#|<svg xmlns="http://www.w3.org/2000/svg" version="1.1" width="1314" height="364" viewBox="0 0 1314 364" style="max-width:100%;height:auto">
#|<title>server (pid 812 and 1 more): heaps at 45ms (45.0 ms), 20.0 KiB in 2 heaps, 1.4 % live</title>
#|<defs><pattern id="hatch" width="6" height="6" patternUnits="userSpaceOnUse" patternTransform="rotate(45)"><rect width="6" height="6" fill="#f4f4f4"/><rect width="2" height="6" fill="#d8d8d8"/></pattern></defs>
#|<rect width="100%" height="100%" fill="#fcfcfc"/>
#|<text id="title" x="20" y="30">server (pid 812 and 1 more): heaps at 45ms (45.0 ms), 20.0 KiB in 2 heaps, 1.4 % live</text>
#|<text x="20" y="52">a cell is one page of 4.0 KiB, addresses grow to the right and down</text>
#|<text x="20" y="77">how full pages in use are</text>
#|<text x="182" y="77">0 %</text>
#|<rect class="f0" x="208" y="66" width="22" height="14"/>
#|<rect class="f1" x="230" y="66" width="22" height="14"/>
#|<rect class="f2" x="252" y="66" width="22" height="14"/>
#|<rect class="f3" x="274" y="66" width="22" height="14"/>
#|<rect class="f4" x="296" y="66" width="22" height="14"/>
#|<rect class="f5" x="318" y="66" width="22" height="14"/>
#|<rect class="f6" x="340" y="66" width="22" height="14"/>
#|<rect class="f7" x="362" y="66" width="22" height="14"/>
#|<rect class="f8" x="384" y="66" width="22" height="14"/>
#|<rect class="f9" x="406" y="66" width="22" height="14"/>
#|<rect class="f10" x="428" y="66" width="22" height="14"/>
#|<text x="456" y="77">100 %</text>
#|<rect class="free" x="532" y="66" width="22" height="14"/>
#|<text x="560" y="77">free page</text>
#|<rect class="top" x="652" y="66" width="22" height="14"/>
#|<text x="680" y="77">top: above the topmost live block, can be trimmed</text>
#|<text x="20" y="99">bars: parts of a heap</text>
#|<rect class="bar" x="208" y="90" width="22" height="10" fill="#46327e"/>
#|<text x="236" y="99">live</text>
#|<rect class="bar" x="286" y="90" width="22" height="10" fill="#8a6fae"/>
#|<text x="314" y="99">slack</text>
#|<rect class="bar" x="371" y="90" width="22" height="10" fill="#9aa0a6"/>
#|<text x="399" y="99">overhead</text>
#|<rect class="bar" x="477" y="90" width="22" height="10" fill="#f6b73c"/>
#|<text x="505" y="99">holes in pages in use</text>
#|<rect class="bar" x="674" y="90" width="22" height="10" fill="#ffffff"/>
#|<text x="702" y="99">free pages</text>
#|<rect class="bar" x="794" y="90" width="22" height="10" fill="url(#hatch)"/>
#|<text x="822" y="99">top</text>
#|<text x="20" y="152"><tspan class="name">process 1: brk heap 1</tspan><tspan dx="24">16.0 KiB, 1.5 % live, 0x10000 to 0x14000</tspan></text>
#|<text x="20" y="169">the topmost block, allocation 3, is of Cache::reserve  cache.c:31</text>
#|<rect class="bar" x="142.00" y="178" width="17.58" height="8" fill="#46327e"><title>live: 250 B, 1.5 %</title></rect>
#|<rect class="bar" x="159.58" y="178" width="0.98" height="8" fill="#8a6fae"><title>slack: 14 B, &lt;0.1 %</title></rect>
#|<rect class="bar" x="160.56" y="178" width="1.69" height="8" fill="#9aa0a6"><title>overhead: 24 B, 0.1 %</title></rect>
#|<rect class="bar" x="162.25" y="178" width="267.75" height="8" fill="#f6b73c"><title>holes in pages in use: 3.7 KiB, 23 %</title></rect>
#|<rect class="bar" x="430.00" y="178" width="864.00" height="8" fill="url(#hatch)"><title>top: 12.0 KiB, 75 %</title></rect>
#|<g class="cells">
#|<text class="address" x="134" y="209.0" text-anchor="end">0x10000</text>
#|<rect class="f1" x="142.0" y="196.0" width="35.0" height="19.0"><title>0x10000 to 0x11000
#|264 B usable in 2 live blocks, 6.4 %</title></rect>
#|</g>
#|<rect class="top" x="142.5" y="217.5" width="106.0" height="15"/>
#|<text x="134" y="229.0" text-anchor="end">top</text>
#|<text class="strip" x="256.0" y="229.0">12.0 KiB</text>
#|<text x="20" y="274"><tspan class="name">process 1: arena heap 2</tspan><tspan dx="24">4.0 KiB, 1.0 % live, 0x30000 to 0x31000</tspan></text>
#|<text x="20" y="291">the topmost block, allocation 6, is of worker  libwork.so</text>
#|<rect class="bar" x="142.00" y="300" width="11.25" height="8" fill="#46327e"><title>live: 40 B, 1.0 %</title></rect>
#|<rect class="bar" x="153.25" y="300" width="4.50" height="8" fill="#9aa0a6"><title>overhead: 16 B, 0.4 %</title></rect>
#|<rect class="bar" x="157.75" y="300" width="1136.25" height="8" fill="#f6b73c"><title>holes in pages in use: 3.9 KiB, 99 %</title></rect>
#|<g class="cells">
#|<text class="address" x="134" y="331.0" text-anchor="end">0x30000</text>
#|<rect class="f0" x="142.0" y="318.0" width="35.0" height="19.0"><title>0x30000 to 0x31000
#|40 B usable in 1 live block, 1.0 %
#|pinned by worker  libwork.so</title></rect>
#|</g>
#|</svg>
#|13
#|status 1
#|<text x="20" y="291">the topmost block, allocation 6, is of &lt;/title&gt;&lt;script&gt;alert&lt;/script&gt;&amp;?  libwork.so</text>
#|pinned by &lt;/title&gt;&lt;script&gt;alert&lt;/script&gt;&amp;?  libwork.so</title></rect>
# expect stderr
#|mtrace-query: nothing to draw: 'rows.db' has no heap at that time
#|mtrace-query: nothing to draw: 'rows.db' has no heap at that time
