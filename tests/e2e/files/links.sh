# Links are followed only inside the roots of the document.
ln -s hello.md prompts/link.md
ln -s "$PWD/prompts" absolute
ln -s ../secret/key out.md
ln -s ../secret folder
ln -s loop loop
reads prompts/link.md "Hello Ada"
reads absolute/hello.md "Hello Ada"
refuses out.md "it is a link to a place $outside"
refuses folder/key "it is a link to a place $outside"
refuses loop "its links lead in a circle"
