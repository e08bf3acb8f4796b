<<<<<<<< HEAD:api/static/ui/_app/immutable/nodes/1.DUEzjMka.js
import{p as f,h as i,m as v,v as l,y as u,C as _,o as r,j as c,q as e,S as s}from"../chunks/lliy16Dm.js";var g=_("<h1> </h1> <p> </p>",1);function d(o,p){f(p,!0);var a=g(),t=i(a),m=r(t,!0),h=c(t,2),n=r(h,!0);v(()=>{e(m,s.status),e(n,s.error?.message)}),l(o,a),u()}export{d as component};
========
import{p as f,h as i,m as v,v as l,y as u,C as _,o as r,j as c,q as e,S as s}from"../chunks/g3PZcZWi.js";var g=_("<h1> </h1> <p> </p>",1);function d(o,p){f(p,!0);var a=g(),t=i(a),m=r(t,!0),h=c(t,2),n=r(h,!0);v(()=>{e(m,s.status),e(n,s.error?.message)}),l(o,a),u()}export{d as component};
>>>>>>>> people2:api/static/ui/_app/immutable/nodes/1.CiZomWZM.js
