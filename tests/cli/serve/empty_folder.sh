mkdir folder
echo text >folder/a.txt
mtrace-serve folder
