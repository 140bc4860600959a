import CPostgres

/// The functions of libpq, loaded when the first of these is used.
let pq = LoadedLibpq.shared.functions

/// libpq as far as it is on this machine. Programs whose stores are in SQLite run without it.
struct LoadedLibpq {
    static let shared = LoadedLibpq()

    let functions: libpq
    /// Why the functions must not be called.
    let problem: String?

    private init() {
        var functions = libpq()
        problem = libpq_load(&functions).map { "\(String(cString: $0)); PostgreSQL needs Debian's package libpq5" }
        self.functions = functions
    }
}
