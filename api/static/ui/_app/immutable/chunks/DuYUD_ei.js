<<<<<<<< HEAD:api/static/ui/_app/immutable/chunks/DuYUD_ei.js
import{s as c,S as s,aJ as n,d as r,g as i,a_ as l}from"./DrVBLh2A.js";import{v as u,q as f}from"./DJBVNBpF.js";function v(t){let a=c(u(s.url.search,t));return n(({to:e})=>{e&&r(a,u(e.url.search,t))}),{get value(){return i(a)},set value(e){r(a,e);const o=f(i(a),t,location.search);l(`${location.pathname}${o}${location.hash}`,s.state)}}}export{v as u};
========
import{s as c,S as s,aJ as n,d as r,g as i,a_ as l}from"./CBIqDuos.js";import{v as u,q as f}from"./2eHkJbGk.js";function v(t){let a=c(u(s.url.search,t));return n(({to:e})=>{e&&r(a,u(e.url.search,t))}),{get value(){return i(a)},set value(e){r(a,e);const o=f(i(a),t,location.search);l(`${location.pathname}${o}${location.hash}`,s.state)}}}export{v as u};
>>>>>>>> owner:api/static/ui/_app/immutable/chunks/DVJURc2W.js
