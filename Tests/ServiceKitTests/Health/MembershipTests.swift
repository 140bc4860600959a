import ArgumentParser
import ServiceKit
import Storage
import TestSupport
import Testing

@Suite(.enabled(if: PostgresServer.isInstalled), .timeLimit(.minutes(60))) struct MembershipTests {
    @Test func `a replica without a lease on its shards is not ready`() async throws {
        let server = try await PostgresServer.shared
        let link = try CuttingLink(to: server.port)
        defer { link.close() }
        let url = server.url(try await server.createDatabase(), port: link.port)
        let configuration = try ServiceConfiguration.resolve(
            "session-engine", BaseOptions.parse([]), StoreOptions.parse([]), environment: ["STORE_URL": url])
        let context = ServiceContext(configuration: configuration, logger: .silent, bus: RecordingBus())
        let store = try context.openStore(
            StoreSchema(service: "session-engine", steps: [[StoreCollection("sessions")]]))
        #expect(await context.readiness.report().missing == [])
        link.set(.freeze)
        #expect(await eventually { await context.readiness.report().missing == ["membership"] })
        link.repair()
        #expect(await eventually { await context.readiness.report().missing == [] })
        await store.close()
    }
}
