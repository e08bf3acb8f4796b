import"./CmpQ_OwG.js";
