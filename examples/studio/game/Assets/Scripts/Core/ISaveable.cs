namespace Lanternfall.Core
{
    /// <summary>Anything that wants a line in the save file.</summary>
    public interface ISaveable
    {
        string SaveKey { get; }

        string Capture();

        void Restore(string text);
    }
}
