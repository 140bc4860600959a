import Testing

@Suite struct FakeBusTests {
    @Test func `who waits for a subscriber that does not come is told in time`() async throws {
        let bus = ControlFixture().bus
        await #expect(throws: FakeBus.NoReader.self) { try await bus.waitForReader(bound: .milliseconds(1)) }
    }
}
