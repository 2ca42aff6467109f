mkdir folder
echo text >folder/a.txt
mtrace-serve folder
# expect status 1
# expect stderr
#|mtrace-serve: no database of mtrace is in the folder 'folder'; mtrace-import makes them
