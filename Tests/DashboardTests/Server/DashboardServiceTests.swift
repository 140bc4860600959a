import ServiceKit
import TestSupport
import Testing

@testable import Dashboard

@Suite(.timeLimit(.minutes(60))) struct DashboardServiceTests {
    @Test func `a web port in use ends the service with an error that names the setting`() async throws {
        let other = try ScriptedPeer { _ in }
        defer { other.stop() }
        var configuration = DashboardConfiguration()
        configuration.port = Int(other.port)
        let context = ServiceContext(
            configuration: ServiceConfiguration(name: "dashboard"), logger: .silent, bus: InMemoryBroker().client())
        let service = try DashboardService(context, configuration)
        let error = await #expect(throws: SettingError.self) { try await service.run() }
        let text = "\(try #require(error))"
        #expect(text.hasPrefix("--web-port (WEB_PORT): cannot listen on 127.0.0.1:\(other.port)"), "\(text)")
    }
}
