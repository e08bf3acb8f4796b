<<<<<<<< HEAD:api/static/ui/_app/immutable/chunks/434Hocxb.js
import{C as n,Z as r}from"./BSDQB-QA.js";import{f as s}from"./DvYvc5vT.js";const u=6e4;let e=0;function a(){n(()=>{if(!r.isAdmin)return;let i;function t(){clearTimeout(i),document.hidden?i=setTimeout(()=>s.pause(),u):s.resume()}return e+=1,t(),document.addEventListener("visibilitychange",t),()=>{e-=1,clearTimeout(i),document.removeEventListener("visibilitychange",t),e===0&&queueMicrotask(()=>e===0&&s.pause())}})}export{a as u};
========
import{C as n,Z as r}from"./OWOr5hB1.js";import{f as s}from"./DIYO5HQR.js";const u=6e4;let e=0;function a(){n(()=>{if(!r.isAdmin)return;let i;function t(){clearTimeout(i),document.hidden?i=setTimeout(()=>s.pause(),u):s.resume()}return e+=1,t(),document.addEventListener("visibilitychange",t),()=>{e-=1,clearTimeout(i),document.removeEventListener("visibilitychange",t),e===0&&queueMicrotask(()=>e===0&&s.pause())}})}export{a as u};
>>>>>>>> tokens:api/static/ui/_app/immutable/chunks/4fe8n0U9.js
