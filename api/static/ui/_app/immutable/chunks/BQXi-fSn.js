import"./B8hK6Ab_.js";
