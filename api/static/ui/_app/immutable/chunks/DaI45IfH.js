<<<<<<<< HEAD:api/static/ui/_app/immutable/chunks/DaI45IfH.js
import{p as r,d as o,g as a,Y as l,y as i,s as g}from"./lliy16Dm.js";import{D as u}from"./BPhXKrh0.js";import{S as p}from"./SIcfWWFt.js";function h(n,s){r(s,!0);let e=g(!0);u(n,{get title(){return l.text.shell.signInTitle},get onclose(){return s.onclose},get open(){return a(e)},set open(t){o(e,t,!0)},children:(t,f)=>{p(t,{ondone:()=>o(e,!1)})},$$slots:{default:!0}}),i()}export{h as default};
========
import{p as r,d as o,g as a,Y as l,y as i,s as g}from"./g3PZcZWi.js";import{D as u}from"./PcHmmr6Q.js";import{S as p}from"./B8Q1n6jh.js";function h(n,s){r(s,!0);let e=g(!0);u(n,{get title(){return l.text.shell.signInTitle},get onclose(){return s.onclose},get open(){return a(e)},set open(t){o(e,t,!0)},children:(t,f)=>{p(t,{ondone:()=>o(e,!1)})},$$slots:{default:!0}}),i()}export{h as default};
>>>>>>>> people2:api/static/ui/_app/immutable/chunks/C7g7H7xH.js
