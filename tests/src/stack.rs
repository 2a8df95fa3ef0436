//! The real parts, each as a process on ports of its own: demo tools, proxy, edge.
