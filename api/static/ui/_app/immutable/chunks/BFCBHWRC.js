<<<<<<<< HEAD:api/static/ui/_app/immutable/chunks/BFCBHWRC.js
import{C as n,Z as r}from"./CZaL0Cx_.js";import{f as s}from"./-ZkCrz2X.js";const u=6e4;let e=0;function a(){n(()=>{if(!r.isAdmin)return;let i;function t(){clearTimeout(i),document.hidden?i=setTimeout(()=>s.pause(),u):s.resume()}return e+=1,t(),document.addEventListener("visibilitychange",t),()=>{e-=1,clearTimeout(i),document.removeEventListener("visibilitychange",t),e===0&&queueMicrotask(()=>e===0&&s.pause())}})}export{a as u};
========
import{C as n,q as r}from"./kmzf9rIF.js";import{f as s}from"./CJ7O0BPx.js";const u=6e4;let e=0;function a(){n(()=>{if(!r.isAdmin)return;let i;function t(){clearTimeout(i),document.hidden?i=setTimeout(()=>s.pause(),u):s.resume()}return e+=1,t(),document.addEventListener("visibilitychange",t),()=>{e-=1,clearTimeout(i),document.removeEventListener("visibilitychange",t),e===0&&queueMicrotask(()=>e===0&&s.pause())}})}export{a as u};
>>>>>>>> main:api/static/ui/_app/immutable/chunks/DynEO5GO.js
