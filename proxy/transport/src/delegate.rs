//! Implements the traits of connections by delegation to an inner connection.

/// Implements `AsyncWrite` for a type by delegation to a field.
macro_rules! delegate_write {
    ($type:ty, $field:tt) => {
        impl tokio::io::AsyncWrite for $type {
            fn poll_write(
                mut self: std::pin::Pin<&mut Self>,
                context: &mut std::task::Context<'_>,
                bytes: &[u8],
            ) -> std::task::Poll<std::io::Result<usize>> {
                std::pin::Pin::new(&mut self.$field).poll_write(context, bytes)
            }

            fn poll_flush(
                mut self: std::pin::Pin<&mut Self>,
                context: &mut std::task::Context<'_>,
            ) -> std::task::Poll<std::io::Result<()>> {
                std::pin::Pin::new(&mut self.$field).poll_flush(context)
            }

            fn poll_shutdown(
                mut self: std::pin::Pin<&mut Self>,
                context: &mut std::task::Context<'_>,
            ) -> std::task::Poll<std::io::Result<()>> {
                std::pin::Pin::new(&mut self.$field).poll_shutdown(context)
            }

            fn poll_write_vectored(
                mut self: std::pin::Pin<&mut Self>,
                context: &mut std::task::Context<'_>,
                pieces: &[std::io::IoSlice<'_>],
            ) -> std::task::Poll<std::io::Result<usize>> {
                std::pin::Pin::new(&mut self.$field).poll_write_vectored(context, pieces)
            }

            fn is_write_vectored(&self) -> bool {
                self.$field.is_write_vectored()
            }
        }
    };
}

/// Implements Pingora's traits about the identity of a connection by delegation to the connection
/// in a field.
macro_rules! delegate_connection {
    ($type:ty, |$this:ident| $inner:expr) => {
        impl pingora::protocols::UniqueID for $type {
            fn id(&self) -> pingora::protocols::UniqueIDType {
                let $this = self;
                $inner.id()
            }
        }

        impl pingora::protocols::GetTimingDigest for $type {
            fn get_timing_digest(&self) -> Vec<Option<pingora::protocols::TimingDigest>> {
                let $this = self;
                $inner.get_timing_digest()
            }
        }

        impl pingora::protocols::GetProxyDigest for $type {
            fn get_proxy_digest(
                &self,
            ) -> Option<std::sync::Arc<pingora::protocols::raw_connect::ProxyDigest>> {
                let $this = self;
                $inner.get_proxy_digest()
            }
        }

        impl pingora::protocols::GetSocketDigest for $type {
            fn get_socket_digest(&self) -> Option<std::sync::Arc<pingora::protocols::SocketDigest>> {
                let $this = self;
                $inner.get_socket_digest()
            }
        }

        impl pingora::protocols::Peek for $type {}
    };
}

pub(crate) use delegate_connection;
pub(crate) use delegate_write;
