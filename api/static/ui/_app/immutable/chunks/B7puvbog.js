import"./Cyl220qr.js";
