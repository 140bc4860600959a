import Hummingbird
import NIOCore

/// All routes. Each part adds its own with an extension.
enum DashboardRouter {
    static func build(_ parts: DashboardParts) -> Router<DashboardContext> {
        let router = Router(context: DashboardContext.self)
        router.get("/") { _, _ in
            Response(
                status: .ok, headers: [.contentType: "text/html; charset=utf-8"],
                body: ResponseBody(byteBuffer: ByteBuffer(string: "<!doctype html><title>Pacebus</title>Hello")))
        }
        addStreamRoutes(to: router, parts)
        return router
    }
}
