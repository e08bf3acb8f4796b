<<<<<<<< HEAD:api/static/ui/_app/immutable/chunks/CA4kGHiU.js
import{j as l,z as s,g as r,J as a,l as i,A as g}from"./BSDQB-QA.js";import{D as u}from"./B-gRgMW3.js";import{S as p}from"./EV71Bi-c.js";function h(n,o){l(o,!0);let e=g(!0);u(n,{get title(){return a.text.shell.signInTitle},get onclose(){return o.onclose},get open(){return r(e)},set open(t){s(e,t,!0)},children:(t,f)=>{p(t,{ondone:()=>s(e,!1)})},$$slots:{default:!0}}),i()}export{h as default};
========
import{j as l,z as s,g as r,J as a,l as i,A as g}from"./OWOr5hB1.js";import{D as u}from"./By6fQ5Tz.js";import{S as p}from"./_lqwfil-.js";function h(n,o){l(o,!0);let e=g(!0);u(n,{get title(){return a.text.shell.signInTitle},get onclose(){return o.onclose},get open(){return r(e)},set open(t){s(e,t,!0)},children:(t,f)=>{p(t,{ondone:()=>s(e,!1)})},$$slots:{default:!0}}),i()}export{h as default};
>>>>>>>> tokens:api/static/ui/_app/immutable/chunks/B1wuYCLN.js
