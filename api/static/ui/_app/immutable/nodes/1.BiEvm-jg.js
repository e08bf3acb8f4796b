<<<<<<<< HEAD:api/static/ui/_app/immutable/nodes/1.BiEvm-jg.js
import{p as f,h as i,m as v,v as l,y as u,C as _,o as r,j as c,q as e,S as s}from"../chunks/DrVBLh2A.js";var g=_("<h1> </h1> <p> </p>",1);function d(o,p){f(p,!0);var a=g(),t=i(a),m=r(t,!0),h=c(t,2),n=r(h,!0);v(()=>{e(m,s.status),e(n,s.error?.message)}),l(o,a),u()}export{d as component};
========
import{p as f,h as i,m as v,v as l,y as u,C as _,o as r,j as c,q as e,S as s}from"../chunks/CBIqDuos.js";var g=_("<h1> </h1> <p> </p>",1);function d(o,p){f(p,!0);var a=g(),t=i(a),m=r(t,!0),h=c(t,2),n=r(h,!0);v(()=>{e(m,s.status),e(n,s.error?.message)}),l(o,a),u()}export{d as component};
>>>>>>>> owner:api/static/ui/_app/immutable/nodes/1.CoB_HRUb.js
