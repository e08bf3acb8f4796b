import"./_qSmbKUv.js";
