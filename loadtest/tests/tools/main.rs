//! The simulated tools over real sockets.

#[cfg(test)]
mod actions;
#[cfg(test)]
mod control;
#[cfg(test)]
mod faults;
#[cfg(test)]
mod http;
#[cfg(test)]
mod process;
#[cfg(test)]
mod qr;
