//! A smoke test of every built-in scenario of `loadtest`, against the real proxy or edge.

#[cfg(test)]
mod direct;
#[cfg(test)]
mod edge;
#[cfg(test)]
mod gateway;
#[cfg(test)]
mod protocols;
#[cfg(test)]
mod readme;
#[cfg(test)]
mod verdict;
