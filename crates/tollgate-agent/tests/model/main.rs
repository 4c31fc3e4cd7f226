//! Models asked over real HTTP on loopback, cassettes, and the rules of the stand-in that judges the requests.

mod support;
mod rules;
mod asks;
mod faults;
mod retries;
mod streams;
mod cassettes;
mod recorded;
