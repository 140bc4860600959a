import Hummingbird
import ServiceKit

/// All routes. Each part adds its own with an extension.
enum DashboardRouter {
    static func build(_ parts: DashboardParts) -> Router<DashboardContext> {
        let router = Router(context: DashboardContext.self)
        router.add(middleware: SecurityHeaders(parts.configuration))
        router.add(middleware: HostCheck<DashboardContext>())
        router.add(
            middleware: LoginMiddleware(
                logins: parts.logins, cookies: LoginCookies(isSecure: parts.configuration.isSecure),
                shares: parts.shares,
                // Presses that a restart interrupted go out again.
                onUse: parts.connections.resume))
        addPageRoutes(to: router, parts)
        addPlanRoutes(to: router, parts)
        addStreamRoutes(to: router, parts)
        addOperatorRoutes(to: router, parts)
        addAssetRoutes(to: router, parts.assets)
        addLoginRoutes(to: router, parts)
        addCommandRoutes(to: router, parts)
        return router
    }
}
