<<<<<<<< HEAD:api/static/ui/_app/immutable/nodes/1.B6Rsyy4U.js
import{j as h,E as i,t as l,a as u,l as v,f as _,o as r,b as c,d as e,ab as s}from"../chunks/BSDQB-QA.js";var d=_("<h1> </h1> <p> </p>",1);function x(o,p){h(p,!0);var a=d(),t=i(a),f=r(t,!0),m=c(t,2),n=r(m,!0);l(()=>{e(f,s.status),e(n,s.error?.message)}),u(o,a),v()}export{x as component};
========
import{j as h,E as i,t as l,a as u,l as v,f as _,o as r,b as c,d as e,ab as s}from"../chunks/OWOr5hB1.js";var d=_("<h1> </h1> <p> </p>",1);function x(o,p){h(p,!0);var a=d(),t=i(a),f=r(t,!0),m=c(t,2),n=r(m,!0);l(()=>{e(f,s.status),e(n,s.error?.message)}),u(o,a),v()}export{x as component};
>>>>>>>> tokens:api/static/ui/_app/immutable/nodes/1.DvSkynV6.js
