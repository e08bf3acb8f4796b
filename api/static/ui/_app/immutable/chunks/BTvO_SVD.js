import"./DcPwBtW6.js";
