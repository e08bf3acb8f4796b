<<<<<<<< HEAD:api/static/ui/_app/immutable/chunks/DvT1_VCD.js
import{A as c,ab as s,aH as n,z as r,g as i,aY as l}from"./BSDQB-QA.js";import{v as u,q as f}from"./DqNGfYQw.js";function v(t){let a=c(u(s.url.search,t));return n(({to:e})=>{e&&r(a,u(e.url.search,t))}),{get value(){return i(a)},set value(e){r(a,e);const o=f(i(a),t,location.search);l(`${location.pathname}${o}${location.hash}`,s.state)}}}export{v as u};
========
import{A as c,ab as s,aH as n,z as r,g as i,aY as l}from"./OWOr5hB1.js";import{v as u,q as f}from"./CMC7PAPu.js";function v(t){let a=c(u(s.url.search,t));return n(({to:e})=>{e&&r(a,u(e.url.search,t))}),{get value(){return i(a)},set value(e){r(a,e);const o=f(i(a),t,location.search);l(`${location.pathname}${o}${location.hash}`,s.state)}}}export{v as u};
>>>>>>>> tokens:api/static/ui/_app/immutable/chunks/BEyt8X8e.js
