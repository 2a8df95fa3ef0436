//! The load driver over real sockets, against simulated tools and a fake gateway.

#[cfg(test)]
mod certify;
#[cfg(test)]
mod driver;
#[cfg(test)]
mod flows;
#[cfg(test)]
mod gateway;
#[cfg(test)]
mod honest;
#[cfg(test)]
mod liars;
#[cfg(test)]
mod loadtest_run;
#[cfg(test)]
mod saved;
#[cfg(test)]
mod scenarios;
