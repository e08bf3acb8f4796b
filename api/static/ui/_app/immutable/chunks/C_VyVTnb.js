import"./uEDWy6NO.js";
