import"./Cf_h4OTa.js";
