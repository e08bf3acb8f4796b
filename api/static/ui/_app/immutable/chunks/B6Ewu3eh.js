import"./m3CeY9gi.js";
