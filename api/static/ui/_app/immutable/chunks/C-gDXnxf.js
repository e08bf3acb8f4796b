import"./Da7WztkV.js";
