import"./GKH56KUv.js";
