import"./-ZkCrz2X.js";
