import Hummingbird
import NIOCore
import ServiceKit

/// A request as handlers receive it.
struct DashboardContext: RequestContext {
    var coreContext: CoreRequestContextStorage
    var login = LoginService.Cookie.none
    /// The browser's address, or the proxy's.
    var peer: String?
    let channel: any Channel

    init(source: ApplicationRequestContextSource) {
        coreContext = CoreRequestContextStorage(source: source)
        channel = source.channel
        // A stream of HTTP/2 is a channel in the connection's.
        let address = source.channel.remoteAddress ?? source.channel.parent?.remoteAddress
        peer = address?.ipAddress.flatMap(IPAddress.canonical)
    }
}
