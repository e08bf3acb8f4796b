import"./2Iq6k_vf.js";
