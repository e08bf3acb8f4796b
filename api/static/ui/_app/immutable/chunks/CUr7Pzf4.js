import"./B2ywlqVC.js";
