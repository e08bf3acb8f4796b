import"./CzoXYOj-.js";
