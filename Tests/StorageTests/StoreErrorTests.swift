import Storage
import Testing

@Suite struct StoreErrorTests {
    @Test func `an error names its file`() {
        #expect(StoreError.inUse(path: "/a/b.sqlite").description.contains("/a/b.sqlite"))
    }
}
